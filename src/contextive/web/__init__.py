"""The views of the web site: what a page shows, and its template. HTTP is in `server/website.py`."""
