/**
 * `npm run seed`: puts example data into a service that runs. `BERTH_DATA` is its folder (`.cache/dev` where it says none, as of
 * `npm run dev`); `BERTH_PUBLIC_URL`, or `HOST` and `PORT`, say where it listens. What is there already is left alone.
 */
import { addressOf, DEV_FOLDER, seed } from './seed/examples.ts'

try {
  console.log(await seed({ folder: process.env.BERTH_DATA ?? DEV_FOLDER, address: addressOf(process.env) }))
} catch (error) {
  console.error(`seed: ${(error as Error).message}`)
  process.exit(1)
}
