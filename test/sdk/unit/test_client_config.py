"""The client's settings: the config file's form, the order of places, addresses."""

import os
import tempfile
import unittest
from unittest import mock

from svc._client.config import ConfigError, client_settings, config_file, normalize_address, read_config

WRITTEN = """# a comment
tokens:
  default:
    name: "Ann \\"A\\" \\u00fc"
    clientId: "id-1"   # trailing
    clientSecret: 's''1'
  /projects/project:

    clientId: plain id
    activeEnvironment:
other:
  deep:
    more: x
"""


class ConfigFile(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = folder.name

    def write(self, text: str, name: str = ".svc.yml") -> str:
        path = os.path.join(self.home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_entries(self) -> None:
        wanted = {
            "default": {"name": 'Ann "A" \u00fc', "clientId": "id-1", "clientSecret": "s'1"},
            "/projects/project": {"clientId": "plain id"},
        }
        for text in (WRITTEN, WRITTEN.replace("\n", "\r\n"), "\ufeff" + WRITTEN, "---\n" + WRITTEN):
            self.assertEqual(read_config(self.write(text)), wanted)
        for text in ("", "tokens: {}\n", "tokens:\n", "# nothing\n", "tokens:\n  default: {}\n"):
            self.assertIn(read_config(self.write(text)), ({}, {"default": {}}))

    def test_other_yaml_is_told_with_its_line(self) -> None:
        for text, line in (
            ("tokens: {default: {clientId: x}}\n", 1),
            ("tokens:\n  default: &a\n    clientId: x\n", 2),
            ("tokens:\n  default:\n    clientId: |\n      x\n", 3),
            ("tokens:\n  default:\n    clientId: *a\n", 3),
            ("tokens:\n  default:\n    - x\n", 3),
            ("tokens:\n  default:\n    clientId: [x]\n", 3),
            ("tokens:\n  default:\n    clientId: \"a\\q\"\n", 3),
            ("tokens:\n  default:\n    a:\n      b: c\n", 4),
            ("just text\n", 1),
            ("\ttokens: x\n", 1),
        ):
            with self.subTest(text), self.assertRaisesRegex(ConfigError, f"svc.yml:{line}: .*svc login"):
                read_config(self.write(text))

    def test_where_it_is(self) -> None:
        env = {"HOME": self.home}
        self.assertIsNone(config_file(env))
        places = [".config.yaml", ".config.yml", ".svc.yaml", ".svc.yml", ".config/svc.yaml", ".config/svc.yml"]
        for name in places:
            path = self.write("", name)
            self.assertEqual(config_file(env), path)
        xdg = {**env, "XDG_CONFIG_HOME": os.path.join(self.home, "xdg")}
        self.assertIsNone(config_file(xdg))
        for name in ("xdg/.svc.yaml", "xdg/.svc.yml", "xdg/svc.yaml", "xdg/svc.yml"):
            path = self.write("", name)
            self.assertEqual(config_file(xdg), path)

    def test_order_of_places(self) -> None:
        self.write(
            "tokens:\n  default:\n    clientId: file-id\n    clientSecret: file-secret\n"
            "    apiServer: http://127.0.0.1:1\n    queryServer: q.example.com\n    activeEnvironment: prod\n"
        )
        env = {"HOME": self.home}
        found = client_settings(None, None, None, None, env)
        self.assertEqual((found.client_id, found.client_secret, found.environment), ("file-id", "file-secret", "prod"))
        self.assertEqual((found.api_server, found.query_server), ("http://127.0.0.1:1", "https://q.example.com"))
        env.update(SVC_CLIENT_ID="env-id", SVC_API_SERVER="api.example.com", SVC_ENVIRONMENT="")
        found = client_settings(None, None, None, None, env)
        self.assertEqual((found.client_id, found.client_secret, found.environment), ("env-id", "file-secret", "prod"))
        self.assertEqual((found.api_server, found.query_server), ("https://api.example.com", None))
        found = client_settings("arg-id", "arg-secret", "dev", "localhost:99/base/", env)
        self.assertEqual((found.client_id, found.client_secret, found.environment), ("arg-id", "arg-secret", "dev"))
        self.assertEqual((found.api_server, found.query_server), ("http://localhost:99/base", None))
        self.assertNotIn("arg-secret", repr(found))

    def test_the_entry_of_the_project_around_the_working_directory_goes_first(self) -> None:
        project = os.path.realpath(os.path.join(self.home, "project"))
        os.makedirs(os.path.join(project, "deep"))
        self.write("", "project/svc.yaml")
        self.write(f"tokens:\n  default:\n    clientId: d\n    clientSecret: s\n  {project}:\n    clientId: p\n")
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(os.path.join(project, "deep"))
        found = client_settings(None, None, None, None, {"HOME": self.home})
        self.assertEqual((found.client_id, found.client_secret), ("p", "s"))

    def test_the_project_around_the_working_directory_is_asked(self) -> None:
        given = ("c", "s", None, None, {"HOME": self.home})
        self.enter("project")
        self.assertIsNone(client_settings(*given).project)
        stated = {
            "project: shop\n": "shop",
            "\ufeff---\r\n# x\r\nenvironments:\r\n  project: none\r\nproject:   shop two  # its name\r\n": "shop two",
            "name: one\nproject: 'it''s'\n": "it's",
            '"name" : "gr\\u00fc\\xdf: #"\n': "gr\u00fc\u00df: #",
            "project:\nname: one\n": "one",
            "project: ~ # none\n": None,
            "projects: shop\n": None,
            "": None,
        }
        for text, wanted in stated.items():
            with self.subTest(text=text):
                self.write(text, "project/svc.yml")
                self.assertEqual(client_settings(*given).project, wanted)
        self.write("project: above\n", "project/svc.yaml")
        self.enter("project/deep/deeper")
        self.assertEqual(client_settings(*given).project, "above")
        for text in ("project: &x shop\n", "project: >\n  shop\n", "project:\n\n  shop\n", "project: a: b\n", 'project: "shop\n  two"\n', 'project: "\\q"\n'):
            with self.subTest(text=text):
                self.write(text, "project/svc.yaml")
                with self.assertRaisesRegex(ConfigError, r"svc.yaml:1: .* on one line, such as `project: shop`"):
                    client_settings(*given)

    def test_a_project_file_of_somebody_else_is_not_asked(self) -> None:
        self.enter("project")
        path = self.write("project: shop\n", "project/svc.yaml")
        given = ("c", "s", None, None)
        env = {"HOME": self.home}
        with mock.patch("os.geteuid", return_value=os.stat(path).st_uid + 7):
            if os.stat(path).st_uid == 0:
                self.assertEqual(client_settings(*given, env).project, "shop")
                os.chown(path, 12345, -1)
            self.assertIsNone(client_settings(*given, env).project)
            for trusted in ("*", f"/nowhere{os.pathsep}{os.path.dirname(path)}"):
                self.assertEqual(client_settings(*given, {**env, "SVC_TRUSTED_PROJECTS": trusted}).project, "shop")

    def test_an_environment_of_another_project_is_not_meant_in_a_folder(self) -> None:
        self.write("project: shop\n", "project/svc.yaml")
        entry = "    clientId: d\n    clientSecret: s\n    activeEnvironment: {}\n"
        env = {"HOME": self.home}
        self.write("tokens:\n  default:\n" + entry.format("env_other") + "  named:\n" + entry.format("env_other"))
        self.enter("project")
        self.assertIsNone(client_settings(None, None, None, None, env).environment)
        self.assertEqual(client_settings(None, None, None, None, {**env, "SVC_PROFILE": "named"}).environment, "env_other")
        self.assertEqual(client_settings(None, None, None, None, {**env, "SVC_ENVIRONMENT": "env_own"}).environment, "env_own")
        root = os.getcwd()
        self.write("tokens:\n  default:\n" + entry.format("dev") + f"  {root}:\n    activeEnvironment: env_own\n")
        self.assertEqual(client_settings(None, None, None, None, env).environment, "env_own")

    def enter(self, folder: str) -> None:
        path = os.path.join(self.home, folder)
        os.makedirs(path, exist_ok=True)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(path)

    def test_a_profile_is_the_only_entry_that_counts(self) -> None:
        self.write("tokens:\n  default:\n    clientId: d\n    clientSecret: s\n  other:\n    clientId: o\n    clientSecret: t\n    apiServer: o.example.com\n")
        found = client_settings(None, None, None, None, {"HOME": self.home, "SVC_PROFILE": "other"})
        self.assertEqual((found.client_id, found.client_secret, found.api_server), ("o", "t", "https://o.example.com"))
        with self.assertRaisesRegex(ConfigError, "SVC_PROFILE names the profile 'otter', which is not in .*svc.yml"):
            client_settings(None, None, None, None, {"HOME": self.home, "SVC_PROFILE": "otter"})

    def test_a_secret_in_the_keychain_is_read_by_the_program(self) -> None:
        self.write("tokens:\n  default:\n    clientId: d\n    clientSecretIn: keychain\n")
        env = {"HOME": self.home, "PATH": os.path.join(self.home, "bin")}
        with self.assertRaisesRegex(ConfigError, "keychain of this system, and the program svc, .*, is not found on PATH; set SVC_CLIENT_SECRET"):
            client_settings(None, None, None, None, env)
        self.assertEqual(client_settings(None, None, None, None, {**env, "SVC_CLIENT_SECRET": "x"}).client_secret, "x")
        os.chmod(self.write('#!/bin/sh\necho "$1 $3" >&2; exit 1\n', "bin/svc"), 0o755)
        with self.assertRaisesRegex(ConfigError, "did not read it: __client-secret default$"):
            client_settings(None, None, None, None, env)

    def test_nothing_found(self) -> None:
        for env, said in (({}, "no client_id"), ({"SVC_CLIENT_ID": "x"}, "no client_secret: .*SVC_CLIENT_SECRET is not set")):
            with self.assertRaisesRegex(ConfigError, said):
                client_settings(None, None, None, None, {"HOME": self.home, **env})


class Addresses(unittest.TestCase):
    def test_in_full(self) -> None:
        for given, full in (
            ("example.com", "https://example.com"),
            ("example.com:8443/x/", "https://example.com:8443/x"),
            ("localhost:5757", "http://localhost:5757"),
            ("127.0.0.1", "http://127.0.0.1"),
            ("[::1]:80", "http://[::1]:80"),
            ("http://example.com/", "http://example.com"),
        ):
            self.assertEqual(normalize_address(given, "test"), full)

    def test_refused(self) -> None:
        for given in ("ftp://x", "", "https://", "http://x:notaport", "a b", "https://u:p@x", "https://x?q=1", "https://x#f"):
            with self.subTest(given), self.assertRaisesRegex(ConfigError, "test"):
                normalize_address(given, "test")


if __name__ == "__main__":
    unittest.main()
