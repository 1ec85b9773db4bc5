"""Runs trials through the executor for Ray, in a Python that has Ray: jobs on standard input, records on standard output.

Example::

    {"width": 2, "jobs": [...], "stop_after": 0.0}  ->  {"records": [...], "seconds": 3.1}
"""

from __future__ import annotations

import json
import os
import sys
import time

from prtoggle.bisection.rayexec import Ray
from prtoggle.bisection.values import job_of, plain


def main() -> None:
    asked = json.load(sys.stdin)
    executor = Ray(asked["width"], asked.get("gpus", 0))
    begun = time.monotonic()
    for job in asked["jobs"]:
        executor.submit(job_of(job))
    records = []
    while len(records) < len(asked["jobs"]):
        record = executor.finished(0.2)
        if record is not None:
            records.append(plain(record))
        if asked.get("wait_for") and os.path.exists(asked["wait_for"]):
            executor.stop()
            while (record := executor.finished(0)) is not None:
                records.append(plain(record))
            break
    executor.stop()
    print(json.dumps({"records": records, "seconds": time.monotonic() - begun}))


if __name__ == "__main__":
    main()
