"""Definitions of images and scaling groups, before anything is sent."""

import base64
import os
import tempfile
import unittest

from svc._client.blocking import Blocking
from svc._client.container_image import working_folder
from svc._client.image_builds import build_image
from svc.containers import Image, ScalingGroup

BASE = "localhost/base:1"


class Images(unittest.TestCase):
    def test_each_addition_is_another_image(self):
        first = Image(BASE)
        second = first.pip_install("httpx>=0.27", "rich")
        self.assertEqual((first.packages, second.packages), ((), ("httpx>=0.27", "rich")))
        self.assertEqual(len(first.pip_install("a[b,c] >=1.0,!=1.2.*", "d==1.0; python_version >= '3.10'", "e (<2)").packages), 3)
        self.assertEqual(second.pip_install("attrs").packages, ("httpx>=0.27", "rich", "attrs"))
        self.assertEqual(Image(BASE), first)
        self.assertNotEqual(first, second)

    def test_what_is_no_image(self):
        for wrong in ("", " ", None, 3):
            with self.assertRaisesRegex(TypeError, "an image is named by a text such as"):
                Image(wrong)

    def test_what_is_no_package(self):
        for wrong in ("", "-r requirements.txt", "--index-url=http://x", "./local", "https://example.com/x.whl", "a\nb", "a\n", "a;${B}", "a>=1\\", "a @ file:///x", "x" * 1_001):
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
            image = Image(BASE).add_local_file(path, "/app/app.py").add_local_dir(folder, "/app/whole/")
            self.assertEqual([(item.remote, item.is_folder) for item in image.local_paths], [("/app/app.py", False), ("/app/whole", True)])
            self.assertEqual(working_folder(image.local_paths), "/app")
            with self.assertRaisesRegex(ValueError, "lie below one folder"):
                image.add_local_file(path, "/etc/app.py")
            with self.assertRaisesRegex(ValueError, "lie below one folder"):
                Image(BASE).add_local_file(path, "/app.py")
            with self.assertRaisesRegex(FileNotFoundError, "add_local_dir"):
                Image(BASE).add_local_file(folder, "/app")
            with self.assertRaisesRegex(NotADirectoryError, "add_local_file"):
                Image(BASE).add_local_dir(path, "/app")
            for wrong in ("app", "/", "", "/a/../..", "/a\nb", 7, "//"):
                with self.assertRaisesRegex(ValueError, "a path in an image is absolute and below its root"):
                    Image(BASE).add_local_dir(folder, wrong)


class Builds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, path, text="", mode=0o644):
        full = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(full, mode)
        return full

    def asked(self, image):
        """The requests for an image, and the name that they give."""
        requests = []

        def call(method, path, body):
            requests.append((path, body))
            return {"image": "localhost/svc/image:1"}
            yield

        return requests, Blocking()(build_image(call, image))

    def test_an_image_that_exists_is_not_built(self):
        self.assertEqual(self.asked(Image(BASE)), ([], BASE))

    def test_packages_and_files_are_sent(self):
        self.write("app/main.py", "print(1)\n")
        self.write("app/run.sh", "#!/bin/sh\n", 0o755)
        self.write("app/.gitignore", "*.log\n")
        self.write("app/a.log", "x")
        other = self.write("notes.txt", "n")
        image = Image(BASE).pip_install("httpx").add_local_dir(os.path.join(self.folder, "app"), "/srv/app").add_local_file(other, "/srv/notes.txt")
        requests, name = self.asked(image)
        self.assertEqual(name, "localhost/svc/image:1")
        [(path, body)] = requests
        self.assertEqual(path, "/svc.v1.ImageBuildService/BuildImage")
        self.assertEqual((body["base"], body["packages"], body["workdir"]), (BASE, ["httpx"], "/srv"))
        files = {file["path"]: (base64.b64decode(file["content"]).decode(), file["executable"]) for file in body["files"]}
        self.assertEqual(
            files,
            {
                "app/.gitignore": ("*.log\n", False),
                "app/main.py": ("print(1)\n", False),
                "app/run.sh": ("#!/bin/sh\n", True),
                "notes.txt": ("n", False),
            },
        )

    def test_secrets_stay_on_this_machine(self):
        self.write("app/main.py")
        secret = self.write("app/.env", "KEY=1")
        with self.assertWarnsRegex(UserWarning, r"look like secrets and are left out of the image: '\.env'"):
            [(_, body)], _ = self.asked(Image(BASE).add_local_dir(os.path.join(self.folder, "app"), "/app"))
        self.assertEqual([file["path"] for file in body["files"]], ["main.py"])
        with self.assertRaisesRegex(ValueError, "looks like a secret"):
            self.asked(Image(BASE).add_local_file(secret, "/app/.env"))

    def test_what_is_too_much_or_nothing(self):
        os.makedirs(os.path.join(self.folder, "empty"))
        with self.assertRaisesRegex(ValueError, "has no files for the image"):
            self.asked(Image(BASE).add_local_dir(os.path.join(self.folder, "empty"), "/app"))
        large = self.write("large", "x" * (9 * 1024 * 1024))
        twice = Image(BASE).add_local_file(large, "/app/a").add_local_file(large, "/app/b")
        with self.assertRaisesRegex(ValueError, "at most 16 MiB in all, and with .*large they are more"):
            self.asked(twice)
        small = self.write("small")
        with self.assertRaisesRegex(ValueError, "two files at /app/a"):
            self.asked(Image(BASE).add_local_file(small, "/app/a").add_local_file(small, "/app/a"))


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
