"""Says what a run of the conformance suite found beside what is expected.

    unexpected.py EXPECTED RESULTS
"""

import json
import re
import sys
from pathlib import Path

expected = set(re.findall(r"^  - (\S+)", Path(sys.argv[1]).read_text(), re.MULTILINE))
for folder in sorted(Path(sys.argv[2]).iterdir()):
    scenario = re.sub(r"-\d{4}-\d{2}-\d{2}T[\d-]+Z$", "", folder.name.removeprefix("server-"))
    for check in json.loads((folder / "checks.json").read_text()):
        name, status = f"{scenario}:{check['id']}", check["status"]
        if status in ("FAILURE", "WARNING") and name not in expected:
            print(f"{status.lower()} {name}: {check.get('errorMessage', '')[:400]}")
        if status == "SUCCESS" and name in expected:
            print(f"{name} passes; take it off the list")
