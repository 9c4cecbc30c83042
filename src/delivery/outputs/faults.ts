/** What is wrong with an output. People read it in the client that deploys. */

/** `field` is empty where the whole file is meant. */
type Fault = { file: string; field: string; message: string }

/** The most faults that are named. People correct these first. */
const MAX_FAULTS = 20

/** Collects faults. */
export type Report = {
  faults: Fault[]
  /** Faults that are not named. */
  more: number
}

/** An empty report. */
export function openReport(): Report {
  return { faults: [], more: 0 }
}

/** Adds a fault. `message` is the rest of a sentence that begins with file and field. */
export function addFault(report: Report, file: string, field: string, message: string): void {
  if (report.faults.length < MAX_FAULTS) report.faults.push({ file, field, message })
  else report.more++
}

/** The faults as sentences, at most 21: the last says how many are not named. */
export function sentencesOf({ faults, more }: Report): string[] {
  return [...faults.map(sentenceOf), ...(more > 0 ? [`${more} more faults are not listed.`] : [])]
}

/** A fault as a sentence: file, field, what is wrong, what to do. */
function sentenceOf({ file, field, message }: Fault): string {
  return field === '' ? `${file} ${message}` : `${file}: ${field} ${message}`
}
