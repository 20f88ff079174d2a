"""Mnemon where MCP is not the interface: `mnemon_adapters.langgraph` and `mnemon_adapters.anthropic`."""

from mnemon_adapters.client import Mnemon, MnemonError

__all__ = ["Mnemon", "MnemonError"]
