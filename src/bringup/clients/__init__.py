"""Clients: what answers prompts. One file a client."""

from bringup.clients._base import Call, Client, Message, Reply, Sampling, Usage, clients, get_client

__all__ = ["Call", "Client", "Message", "Reply", "Sampling", "Usage", "clients", "get_client"]
