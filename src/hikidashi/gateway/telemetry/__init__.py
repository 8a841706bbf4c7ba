"""OpenTelemetry: spans of the gateway, trace context between clients and servers, exporters from the environment.

No span has arguments, results, queries or error messages, which may contain secrets.
"""
