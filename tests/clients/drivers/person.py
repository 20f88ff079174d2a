"""A person without a browser: opens the page that a client leads to, pastes the key, and says where that led."""

import html
import re
import urllib.error
import urllib.parse
import urllib.request

HIDDEN = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')


class Refused(Exception):
    """The page did not lead back to the client; the text is what it says."""


def agree(authorization_url: str, key: str) -> dict[str, str]:
    """What the client gets back: code, state and issuer."""
    with urllib.request.urlopen(authorization_url, timeout=30) as page:
        cookie = page.headers["set-cookie"].split(";")[0]
        fields = {html.unescape(name): html.unescape(value) for name, value in HIDDEN.findall(page.read().decode())}
    body = urllib.parse.urlencode({**fields, "key": key, "answer": "yes"}).encode()
    address = urllib.parse.urljoin(authorization_url, "/authorize")
    return back_at(urllib.request.Request(address, body, {"cookie": cookie}))


def back_at(request: urllib.request.Request) -> dict[str, str]:
    try:
        urllib.request.build_opener(Stay).open(request, timeout=30)
    except urllib.error.HTTPError as answer:
        if answer.code == 303:
            query = urllib.parse.urlsplit(answer.headers["location"]).query
            return dict(urllib.parse.parse_qsl(query))
        notice = re.search(r'role="alert">([^<]*)<', answer.read().decode())
        raise Refused(f"{answer.code}: {html.unescape(notice[1]) if notice else 'no notice'}") from None
    raise Refused("the page led nowhere")


class Stay(urllib.request.HTTPRedirectHandler):
    """Looks at a redirect instead of following it: behind it is the client, not a web site."""

    def redirect_request(self, *_arguments: object) -> None:
        return None
