"""An exported C file as a library for the Arduino IDE: its properties, the file, and a sketch."""

from __future__ import annotations

import re

_PROPERTIES = """\
name={name}
version=1.0.0
author=svmfast
maintainer=svmfast
sentence={sentence}
paragraph=Written by svmfast export.
category=Data Processing
url=
architectures=*
includes={name}.h
"""

_SKETCH = """\
/* Answers a row of features each second. Replace feature() by what reads your sensors. */
#include <{name}.h>

static {name}_input x[{NAME}_FEATURES];

static float feature(int j) {{
    return (float)analogRead(A0 + j % 4);
}}

void setup() {{
    Serial.begin(115200);
}}

void loop() {{
    for (int j = 0; j < {NAME}_FEATURES; ++j) x[j] = {read};
    Serial.println({answer});
#ifdef {NAME}_HAS_CERTAIN
    Serial.println({name}_certain(x, NULL) ? "certain" : "not certain");
#endif
    delay(1000);
}}
"""


def library(text: str) -> dict[str, str]:
    """The files of the library for the text of an exported file, by their paths in its folder."""
    name, sentence = re.findall(r"/\* (\w+)\.h: (.*)", text)[0]
    words = {"name": name, "NAME": name.upper(), "sentence": sentence}
    words["read"] = (
        f"{name}_quantize(feature(j), j)" if f"{name}_quantize(" in text else f"({name}_input)feature(j)"
    )
    words["answer"] = f"(long){name}_predict(x)"
    if f" {name}_value(" in text:
        words["answer"] = f"(float){name}_value(x)" + f" * (float){name.upper()}_UNIT" * ("_UNIT" in text)
    return {
        "library.properties": _PROPERTIES.format(**words),
        f"src/{name}.h": text,
        f"examples/{name}/{name}.ino": _SKETCH.format(**words),
    }
