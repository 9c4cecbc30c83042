/** The processes of this machine, by what stands in their command line. */
import { readdirSync, readFileSync } from 'node:fs'

/** Returns the ids of processes, but this one, that have the text among their words. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8')
      return words.includes(text) && Number(name) !== process.pid ? [Number(name)] : []
    } catch {
      return []
    }
  })
}
