/** TABLE attack -> what is done. Each runs while another team is measured: noisy-neighbor.test.ts. The attacker is a team as any other. */
import { askAhead } from './ahead.ts'
import { planTexts, sendTrees } from './bodies.ts'
import { floodHooks } from './hooks.ts'
import { readManyLists, readNothing } from './lists.ts'
import { lookUpSilentNames } from './names.ts'
import { guessAtSignIn, setPasswords } from './passwords.ts'
import type { Attack } from './scene.ts'
import { searchHeavyProjects } from './search.ts'
import { tryPasswords } from './sites.ts'

export const ATTACKS: Record<string, Attack> = {
  'heavy lists on 200 sockets that never read': readNothing,
  '64 heavy lists at once that are read': readManyLists,
  'upserts of 1,000 variables that 20 webhooks receive': floodHooks,
  'names whose name servers are silent, looked up': lookUpSilentNames,
  'wrong passwords from many sockets at one site': tryPasswords,
  'wrong passwords at the sign-in from 32 addresses': guessAtSignIn,
  'passwords of a project set on 64 sockets': setPasswords,
  '.env texts of a mebibyte, planned': planTexts,
  'JSON of nothing but containers on 76 sockets': sendTrees,
  'searches behind many heavy projects': searchHeavyProjects,
  'pages that an unauthenticated client asks ahead and does not read': askAhead,
}
