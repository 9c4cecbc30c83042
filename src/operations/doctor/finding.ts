import type { Config } from '../../config.ts'

/** `worry`: a warning. `wrong`: an error. */
export type Finding = { about: string; is: 'well' | 'worry' | 'wrong'; found: string; advice?: string }

export type Check = (config: Config) => Promise<Finding[]>
