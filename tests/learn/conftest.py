"""Builders of other folders' tests (`vision.builders`) can be imported here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
