"""Reports as one HTML file each: no network, legible without JavaScript, light and dark."""
