/** Supervised clients in the other era of each transport, whose server is killed and started again. */
import { places, placesOfTransports } from "./support/places.ts"
import { testRestarts } from "./support/testRestarts.ts"

for (const place of places) {
  if (!placesOfTransports.includes(place)) testRestarts(place)
}
