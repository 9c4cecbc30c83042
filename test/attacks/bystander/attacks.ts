/** TABLE attack -> what is done. Each runs while another team is measured: bystander.test.ts. The attacker is a team as any other. */
import { floodHooks } from './hooks.ts'
import { readManyLists, readNothing } from './lists.ts'
import { lookUpSilentNames } from './names.ts'
import type { Attack } from './scene.ts'
import { tryPasswords } from './sites.ts'

export const ATTACKS: Record<string, Attack> = {
  'heavy lists on 200 sockets that never read': readNothing,
  '64 heavy lists at once that are read': readManyLists,
  'upserts of 1,000 variables that 20 webhooks hear': floodHooks,
  'names whose name servers are silent, looked up': lookUpSilentNames,
  'wrong passwords from many sockets at one site': tryPasswords,
}
