"""What a protected file says of itself: certificate, digest, and the regressions valid on it."""

from dprct.certificate.certificate import Certificate, Reading, ValuesDigest
from dprct.certificate.page import certificate_page
from dprct.certificate.valid_regressions import Specification, Validity

__all__ = [
    "Certificate",
    "Reading",
    "Specification",
    "Validity",
    "ValuesDigest",
    "certificate_page",
]
