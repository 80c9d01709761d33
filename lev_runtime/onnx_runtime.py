"""ONNX Runtime, which otherwise reports to its maker: the only place that imports it."""

import os

# Read once, at the import: without it a device's number and a queue of events lie in the cache.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime as onnxruntime  # noqa: E402

onnxruntime.disable_telemetry_events()  # imported before by somebody else
