"""Where real data is, for the tests that need it: beside the checkout, or POLICRF_DATA."""

import os
from pathlib import Path

DATA = Path(os.environ.get("POLICRF_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
