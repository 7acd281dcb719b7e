"""The server: answers, collections and conversations over HTTP, and the page that shows them."""
