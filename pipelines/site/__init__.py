"""Site: several sweeps and nights as a folder of static pages, for any web server or bucket."""

from pipelines.site.site_building import Site, build_site

__all__ = ["Site", "build_site"]
