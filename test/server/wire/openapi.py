"""Whether a document is OpenAPI, and answers are what it says: prints what is wrong, a line each."""

import json
import re
import sys

import jsonschema
from openapi_spec_validator import OpenAPIV31SpecValidator

given = json.load(sys.stdin)
document = given["document"]
# Of the methods, which are all made alike, one in ten, with the schemas that they need: the validator is slow.
methods = [path for path in document["paths"] if path.startswith("/svc.")]
paths = {path: item for path, item in document["paths"].items() if path not in methods or path in methods[::10]}
needed, found = [paths], {}
while needed:
    for name in set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(needed.pop()))) - found.keys():
        found[name] = document["components"]["schemas"][name]
        needed.append(found[name])
part = {**document, "paths": paths, "components": {**document["components"], "schemas": found}}
for error in OpenAPIV31SpecValidator(part).iter_errors():
    print("document:", error.message)
for path, method, status, answer in given["answers"]:
    responses = document["paths"][path][method]["responses"]
    found = responses.get(str(status), responses["default"])
    schema = {**found["content"]["application/json"]["schema"], "components": document["components"]}
    for error in jsonschema.Draft202012Validator(schema).iter_errors(answer):
        print(f"{method} {path} {status}: {error.json_path}: {error.message}")
