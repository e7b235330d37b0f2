"""The generator of the mini-world, frozen: `freeze` writes its data to the package, where `World` reads them."""
