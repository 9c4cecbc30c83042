/** TABLE what is done to the service: every fault, in the order in which they run. */
import { builds } from './builds.ts'
import { clock } from './clock.ts'
import { collected, collectedUntouched } from './collected.ts'
import { databaseCrash, databaseCut } from './database.ts'
import { deployCut, deployCutUnsynced } from './deploy-cut.ts'
import { deploys } from './deploys.ts'
import { diskFails, diskFull } from './disk-full.ts'
import type { Fault } from './fault.ts'
import { functionControls, functionKills, sandboxedKills } from './functions.ts'
import { secondInstance, twoInstances } from './instances.ts'
import { kill } from './kill.ts'
import { migration } from './migration.ts'
import { outside } from './outside.ts'
import { powerCut, powerCutUnsynced } from './power-cut.ts'
import { stop } from './stop.ts'

export const FAULTS: readonly Fault[] = [
  kill,
  deploys,
  collected,
  collectedUntouched,
  powerCut,
  powerCutUnsynced,
  deployCut,
  deployCutUnsynced,
  diskFull,
  diskFails,
  databaseCrash,
  databaseCut,
  twoInstances,
  secondInstance,
  migration,
  stop,
  outside,
  clock,
  functionKills,
  functionControls,
  sandboxedKills,
  builds,
]
