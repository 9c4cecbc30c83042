/** What a check of the doctor finds. */
import type { Config } from '../../config.ts'

/** `worry`: it works, and somebody should look at it. `wrong`: it does not. */
export type Finding = { about: string; is: 'well' | 'worry' | 'wrong'; found: string; advice?: string }

export type Check = (config: Config) => Promise<Finding[]>
