"""Reports as single HTML files that need no network or JavaScript, in a light and a dark style."""
