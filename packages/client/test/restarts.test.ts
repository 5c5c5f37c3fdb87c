/** Supervised clients over each transport, whose server is killed in the middle of calls and started again. */
import { placesOfTransports } from "./support/places.ts"
import { testRestarts } from "./support/testRestarts.ts"

for (const place of placesOfTransports) testRestarts(place)
