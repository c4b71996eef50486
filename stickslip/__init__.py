"""stickslip: nonsmooth contact dynamics with exact friction and certified answers."""

__version__ = "0.1.0"
