"""The HTTP server: the web page and the APIs.

Start with `app.create_app` (routes and middleware) and `settings`, then `asking` and `answering` (one
request from start to end), then the APIs: `answers` (our own), `chat` and `responses` (OpenAI),
`messages` (Anthropic).
"""
