/**
 * What is run, silently and once, in a kernel of IPython so that what it publishes about our runs can be asked for again:
 * by a process that comes after ours, and whatever became of the connection.
 *
 * It copies what leaves on iopub in answer to an `execute_request` of the user name `claimcheck`, and hands the copies out on
 * the control channel, which answers while code runs: a `kernel_info_request` whose content has a member `claimcheck` is
 * answered with one. (A message type of our own would get no answer at all from a kernel without this.) The user's names,
 * history and prompt numbers stay as they are.
 */
export const RECORDER_CODE: string = `
def _claimcheck_install(most_bytes, page_bytes):
    import collections, json, os, threading
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    iopub = getattr(kernel, "iopub_thread", None)
    handlers = getattr(kernel, "control_handlers", None) or {}
    answer_info = handlers.get("kernel_info_request")
    if iopub is None or answer_info is None or hasattr(kernel, "_claimcheck_recorder"):
        return
    kinds = {"status", "execute_input", "stream", "display_data", "update_display_data", "execute_result",
             "error", "clear_output"}
    pid = os.getpid()
    lock = threading.Lock()
    logs = collections.OrderedDict()

    class Log:
        def __init__(self):
            # The first two say that the run has begun, and when: they make room for nothing.
            self.begun = []
            self.first, self.messages, self.bytes, self.dropped, self.ended = 0, collections.deque(), 0, 0, False

        def add(self, message):
            (self.begun if len(self.begun) < 2 else self.messages).append(message)
            self.bytes += size_of(message)

        def drop_oldest(self):
            self.bytes -= size_of(self.messages.popleft())
            self.first += 1
            self.dropped += 1

    def size_of(message):
        return sum(map(len, message))

    def note(parts):
        parts = [part if isinstance(part, bytes) else bytes(part) for part in parts]
        at = parts.index(b"<IDS|MSG>")
        header, parent, metadata, content = parts[at + 2:at + 6]
        if b'"claimcheck"' not in parent:
            return
        asked = json.loads(parent)
        if asked.get("username") != "claimcheck" or asked.get("msg_type") != "execute_request":
            return
        kind = json.loads(header)["msg_type"]
        if kind not in kinds:
            return
        with lock:
            log = logs.get(asked["msg_id"])
            if log is None:
                log = logs[asked["msg_id"]] = Log()
            log.add((header, metadata, content))
            if kind == "status" and json.loads(content).get("execution_state") == "idle":
                log.ended = True
            make_room(log)

    def make_room(current):
        def total():
            return sum(log.bytes for log in logs.values())

        for msg_id in [msg_id for msg_id, log in logs.items() if log.ended and log is not current]:
            if total() <= most_bytes:
                return
            del logs[msg_id]
        while total() > most_bytes and len(current.messages) > 2:
            current.drop_oldest()

    def answer(query):
        log = None
        with lock:
            if "log" in query:
                log = logs.get(query["log"])
            if log is None:
                return {"version": 1, "known": False}
            asked = query.get("from", 0)
            start = following = max(asked, log.first)
            page, size = list(log.begun) if asked == 0 else [], 0
            for message in list(log.messages)[start - log.first:]:
                size += size_of(message)
                if following > start and size > page_bytes:
                    break
                page.append(message)
                following += 1
            page = [[part.decode("utf8", "replace") for part in message] for message in page]
            more = following < log.first + len(log.messages)
            return {"version": 1, "known": True, "messages": page, "next": following, "more": more,
                    "dropped": log.dropped}

    send = iopub.send_multipart

    def send_multipart(message, *args, **kwargs):
        if os.getpid() == pid:
            try:
                note(message)
            except Exception:
                pass
        return send(message, *args, **kwargs)

    def kernel_info_request(stream, ident, parent):
        query = parent["content"].get("claimcheck")
        if query is None:
            return answer_info(stream, ident, parent)
        content = dict(kernel.kernel_info, status="ok", claimcheck=answer(query))
        kernel.session.send(stream, "kernel_info_reply", content, parent, ident)

    iopub.send_multipart = send_multipart
    handlers["kernel_info_request"] = kernel_info_request
    kernel._claimcheck_recorder = True


try:
    _claimcheck_install(MOST_BYTES, PAGE_BYTES)
finally:
    del _claimcheck_install
`
  .replace("MOST_BYTES", String(32 * 1024 * 1024))
  .replace("PAGE_BYTES", String(4 * 1024 * 1024));
