"""Times `pass` through Python's own BlockingKernelClient: reads a number of runs per line, answers the milliseconds of each."""
import json
import sys
import time

from jupyter_client import BlockingKernelClient

client = BlockingKernelClient(connection_file=sys.argv[1])
client.load_connection_file()
client.start_channels()
client.wait_for_ready(timeout=60)


def run_once() -> float:
    start = time.perf_counter()
    msg_id = client.execute("pass")
    replied = idle = False
    while not replied:
        replied = client.get_shell_msg(timeout=30)["parent_header"].get("msg_id") == msg_id
    while not idle:
        message = client.get_iopub_msg(timeout=30)
        idle = (
            message["parent_header"].get("msg_id") == msg_id
            and message["msg_type"] == "status"
            and message["content"]["execution_state"] == "idle"
        )
    return (time.perf_counter() - start) * 1000


for line in sys.stdin:
    print(json.dumps([run_once() for _ in range(int(line))]), flush=True)
