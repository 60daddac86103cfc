"""The generated tables of README.md and ARCHITECTURE.md are those of the code."""

import subprocess
import sys


def test_generated_parts_are_up_to_date(request):
    script = request.config.rootpath / "scripts" / "generated_docs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
