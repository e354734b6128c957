"""Definitions of images and scaling groups, before anything is sent."""

import os
import tempfile
import unittest

from svc.containers import Image, ScalingGroup

BASE = "localhost/base:1"


class Images(unittest.TestCase):
    def test_each_addition_is_another_image(self):
        first = Image(BASE)
        second = first.pip_install("httpx>=0.27", "rich")
        self.assertEqual((first.packages, second.packages), ((), ("httpx>=0.27", "rich")))
        self.assertEqual(second.pip_install("attrs").packages, ("httpx>=0.27", "rich", "attrs"))
        self.assertEqual(Image(BASE), first)
        self.assertNotEqual(first, second)

    def test_what_is_no_image(self):
        for wrong in ("", " ", None, 3):
            with self.assertRaisesRegex(TypeError, "an image is named by a text such as"):
                Image(wrong)

    def test_what_is_no_package(self):
        for wrong in ("", "-r requirements.txt", "--index-url=http://x", "./local", "https://example.com/x.whl", "a\nb", "x" * 1_001):
            with self.assertRaisesRegex(ValueError, "takes packages by name"):
                Image(BASE).pip_install(wrong)
        with self.assertRaisesRegex(TypeError, "takes packages as texts"):
            Image(BASE).pip_install(["httpx"])
        with self.assertRaisesRegex(ValueError, "at most 500 packages"):
            Image(BASE).pip_install(*(f"p{number}" for number in range(501)))

    def test_files_of_this_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "app.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("1\n")
            image = Image(BASE).add_local_file(path, "/app/app.py").add_local_dir(folder, "/whole/")
            self.assertEqual([(item.remote, item.is_folder) for item in image.local_paths], [("/app/app.py", False), ("/whole", True)])
            with self.assertRaisesRegex(FileNotFoundError, "add_local_dir"):
                Image(BASE).add_local_file(folder, "/app")
            with self.assertRaisesRegex(NotADirectoryError, "add_local_file"):
                Image(BASE).add_local_dir(path, "/app")
            for wrong in ("app", "/", "", "/a/../..", "/a\nb", 7, "//"):
                with self.assertRaisesRegex(ValueError, "a path in an image is absolute and below its root"):
                    Image(BASE).add_local_dir(folder, wrong)


class Groups(unittest.TestCase):
    def refused(self, kind, said, **options):
        with self.assertRaisesRegex(kind, said) as raised:
            ScalingGroup(**{"image": BASE, "name": "site", "port": 80, **options})
        return str(raised.exception)

    def test_a_definition_sends_nothing(self):
        group = ScalingGroup(BASE, "site", port=80, min_replicas=0, max_replicas=3, secrets=["A"], volumes=[("data", "/data")], entrypoint=["a"])
        self.assertEqual(repr(group), "ScalingGroup('localhost/base:1', 'site')")
        self.assertEqual(group.image, Image(BASE))

    def test_what_makes_no_sense(self):
        self.refused(ValueError, "at most 63 of a-z", name="Site")
        self.refused(ValueError, "at most 63 of a-z", name="site\n")
        self.refused(ValueError, "port is a number from 1 to 65535, not 0", port=0)
        self.refused(ValueError, "min_replicas is a number from 0 to 100, not -1", min_replicas=-1)
        self.refused(ValueError, "min_replicas is a number from 0 to 100, not True", min_replicas=True)
        self.refused(ValueError, "min_replicas is a number from 0 to 100, not '1'", min_replicas="1")
        self.refused(ValueError, "max_replicas is a number from 2 to 100, not 1", min_replicas=2, max_replicas=1)
        self.refused(ValueError, "target_cpu is a number from 1 to 100, not 0", target_cpu=0)
        self.refused(ValueError, "need port=", port=None, min_replicas=0)
        self.refused(ValueError, "need port=", port=None, authenticated=True)
        self.refused(TypeError, "entrypoint is a list of texts", entrypoint="python3 app")
        self.refused(TypeError, "volumes is a list of pairs", volumes=("data", "/data"))
        self.refused(TypeError, "volumes is a list of pairs", volumes="data:/data")
        self.refused(TypeError, "volumes is a list of pairs", volumes=[("data",)])
        self.refused(TypeError, "secrets is a list of texts", secrets="API_KEY")
        self.refused(ValueError, "names a secret twice", secrets=["A", "A"])

    def test_a_value_in_the_place_of_a_secret_is_not_shown(self):
        said = self.refused(ValueError, "and no values", secrets=["sk-live-12345"])
        self.assertNotIn("12345", said)


if __name__ == "__main__":
    unittest.main()
