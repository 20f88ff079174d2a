"""A model that needs no model: it speaks the two interfaces of OpenAI and always does the same four things with the tools it
is offered. It saves a fact, searches for it, searches where nothing was saved, and repeats the fact if a tool's answer had
it. What the frameworks hand it of the tools' answers is written down."""

import http.server
import json
import threading

FACT = "We deploy on Tuesdays at ten."
STEPS = [
    ("remember", {"content": FACT, "fact_key": "deploy.day"}),
    ("search", {"query": "when do we deploy"}),
    ("search", {"query": "when do we deploy", "workspace": "nowhere"}),
]


class Model:
    """`seen` holds the answers of the tools in the order of the steps, each as the one text that a model would read."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                speak = model.respond if self.path.endswith("/responses") else model.complete
                media, body = speak(request)
                self.send_response(200)
                self.send_header("Content-Type", media)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()

    def complete(self, request: dict) -> tuple[str, bytes]:
        """Chat completions."""
        results = [text_of(message["content"]) for message in request["messages"] if holds_a_result(message)]
        tools = [tool["function"] for tool in request.get("tools", [])]
        call, words = self.next_move(results, tools)
        message: dict = {"role": "assistant", "content": words}
        if call is not None:
            name, arguments = call
            message["content"] = None
            message["tool_calls"] = [
                {"id": f"call_{len(results)}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            ]
        reason = "stop" if call is None else "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {"id": "chatcmpl-1", "created": 1, "model": request["model"]}
        if request.get("stream"):
            for number, tool_call in enumerate(message.get("tool_calls", [])):
                tool_call["index"] = number
            chunk = {**head, "object": "chat.completion.chunk"}
            first = {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
            last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
            return "text/event-stream", b"".join(b"data: " + part + b"\n\n" for part in [encode(first), encode(last), b"[DONE]"])
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return "application/json", encode({**head, "object": "chat.completion", "choices": [choice], "usage": usage})

    def respond(self, request: dict) -> tuple[str, bytes]:
        """Responses."""
        items = request["input"] if isinstance(request["input"], list) else []
        results = [text_of(item["output"]) for item in items if item.get("type") == "function_call_output"]
        tools = [tool for tool in request.get("tools", []) if tool["type"] == "function"]
        call, words = self.next_move(results, tools)
        if call is None:
            text = {"type": "output_text", "text": words, "annotations": []}
            item = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text]}
        else:
            name, arguments = call
            item = {"type": "function_call", "id": f"fc_{len(results)}", "call_id": f"call_{len(results)}", "name": name,
                    "arguments": json.dumps(arguments), "status": "completed"}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {
            "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": request["model"], "output": [item],
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None,
            "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1,
            "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, **details},
        }
        return "application/json", encode(response)

    def next_move(self, results: list[str], tools: list[dict]) -> tuple[tuple[str, dict] | None, str]:
        """The tool to call with its arguments, or what to say in the end."""
        self.seen = max(self.seen, results, key=len)
        if len(results) < len(STEPS):
            wanted, arguments = STEPS[len(results)]
            # Frameworks put the server's name in front of the tool's.
            tool = next((tool for tool in tools if tool["name"].endswith(wanted)), None)
            if tool is not None:
                return (tool["name"], empty_arguments(tool["parameters"]) | arguments), ""
        words = FACT if any(FACT in result for result in results[1:]) else "I don't know."
        # smolagents has a tool for the last word.
        if any(tool["name"] == "final_answer" for tool in tools):
            return ("final_answer", {"answer": words}), ""
        return None, words


def holds_a_result(message: dict) -> bool:
    """smolagents hands results and errors over as words of the user."""
    return message["role"] == "tool" or text_of(message.get("content")).startswith(("Observation:", "Error:"))


def empty_arguments(schema: dict) -> dict:
    """A value that says nothing for every argument that is demanded. Some frameworks demand them all."""
    empty = {"string": "", "boolean": False, "array": [], "object": {}, "integer": 10, "number": 1.0}
    properties = schema.get("properties", {})
    return {name: empty[properties[name]["type"]] for name in schema.get("required", []) if "type" in properties[name]}


def text_of(content: object) -> str:
    """A framework hands a tool's answer over as a text, as a list of parts, or as JSON of its own."""
    if isinstance(content, list):
        return "\n".join(part.get("text", json.dumps(part)) if isinstance(part, dict) else str(part) for part in content)
    return content if isinstance(content, str) else json.dumps(content)


def encode(value: dict) -> bytes:
    return json.dumps(value).encode()
