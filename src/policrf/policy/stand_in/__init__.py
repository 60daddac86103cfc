"""Stand-ins: learned functions in the place of expensive ones, asked as often as one likes."""
