import type { Config } from '../../config.ts'

/** `worry`: a warning. `wrong`: an error. */
export type Finding = { about: string; is: 'well' | 'worry' | 'wrong'; found: string; advice?: string }

export type Check = (config: Config) => Promise<Finding[]>

/** Returns functions that make findings about one thing. */
export function findingsAbout(about: string) {
  const finding =
    (is: Finding['is']) =>
    (found: string, advice?: string | undefined): Finding => ({
      about,
      is,
      found,
      ...(advice !== undefined && { advice }),
    })
  return { well: finding('well'), worry: finding('worry'), wrong: finding('wrong') }
}
