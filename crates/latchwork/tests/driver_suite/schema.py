"""Creates the schema of python-oracledb's own tests, statement by statement; unsupported statements are skipped.

Arguments: the file of statements. Writes a line for each statement that failed.
"""

import os
import sys

import oracledb

NAMES = {
    "main_user": os.environ["PYO_TEST_MAIN_USER"],
    "main_password": os.environ["PYO_TEST_MAIN_PASSWORD"],
    "proxy_user": os.environ["PYO_TEST_PROXY_USER"],
    "proxy_password": os.environ["PYO_TEST_PROXY_PASSWORD"],
    "edition_name": os.environ["PYO_TEST_EDITION_NAME"],
}


def statements(path):
    lines = []
    for line in open(path, encoding="utf-8"):
        if line.strip() != "/":
            lines.append(line)
            continue
        text = "".join(lines).strip()
        lines = []
        for ending in (".", ""):
            for name, value in NAMES.items():
                text = text.replace(f"&{name}{ending}", value)
        if text:
            yield text


def pieces(text):
    """A GRANT of several privileges is split, so that an unsupported one does not affect the others."""
    words = text.split()
    if words[0].lower() != "grant" or "," not in text:
        return [text]
    privileges, who = text[len("grant") :].rsplit(" to ", 1) if " to " in text else text[5:].rsplit("\nto ", 1)
    return [f"grant {privilege} to {who}" for privilege in privileges.split(",")]


def main():
    user, password, dsn = (os.environ[f"PYO_TEST_{n}"] for n in ("ADMIN_USER", "ADMIN_PASSWORD", "CONNECT_STRING"))
    with oracledb.connect(user=user, password=password, dsn=dsn) as c:
        for text in statements(sys.argv[1]):
            for piece in pieces(text):
                try:
                    c.cursor().execute(piece)
                except oracledb.Error as e:
                    print(f"{str(e).splitlines()[0]} <- {' '.join(piece.split())[-100:]}")
        c.commit()


main()
