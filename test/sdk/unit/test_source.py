"""Facts about source files: the comments above definitions."""

import io
import os
import tempfile
import tokenize
import unittest

from svc._diagnostics.source import Comment, Source, read_comment

TEXT = '''# module
# two
a = 1

  # indented
#no space
b = """
# text
""" # after a text
c = 2
d = f"""
# text {b}
# more
"""
e = (
    "one"
    # between texts
    "two"
    # after texts
)
f = b"""
#  \\
# bytes
"""
# é above
# :owner: é@example.com
g = 3 # beside
h = 4
# \\
i = 5 + \\
    6
def documented():
    """Text.

    # no comment
    """
    # in a body
    return {
        # in brackets
        "#": 1,
    }
# last'''


def by_tokens(text: str, line: int) -> Comment:
    """The comment above a line as Python's tokenizer tells comments."""
    comments = {token.start[0]: token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT}
    lines, block = text.split("\n"), []
    while line > 1 and line - 1 in comments and lines[line - 2].lstrip().startswith("#"):
        line -= 1
        block.insert(0, comments[line][1:].removeprefix(" "))
    return read_comment(block)


class CommentsAbove(unittest.TestCase):
    def read(self, content: bytes) -> Source:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "module.py")
        with open(path, "wb") as stream:
            stream.write(content)
        return Source(path)

    def test_of_every_line_are_those_of_the_tokenizer(self):
        for content in (TEXT, TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT, TEXT.replace("    ", "\t")):
            source = self.read(content.encode())
            for line in range(1, len(source.lines) + 2):
                with self.subTest(line=line, content=content):
                    self.assertEqual(source.comment_above(line), by_tokens(source.text, line))

    def test_lines_of_a_text_are_no_comment(self):
        source = self.read(TEXT.encode())
        lines = source.lines
        self.assertEqual(source.comment_above(lines.index('""" # after a text') + 1), Comment())
        self.assertEqual(source.comment_above(lines.index('    "two"') + 1), Comment("between texts"))
        self.assertEqual(source.comment_above(lines.index("g = 3 # beside") + 1), Comment("é above", "é@example.com"))


if __name__ == "__main__":
    unittest.main()
