type FieldError = { file: string; field: string; message: string }

/** The most errors in a report; more would not help to fix them. */
const MAX_FAULTS = 20

export type Report = {
  faults: FieldError[]
  more: number
}

/** Creates a report. */
export function createReport(): Report {
  return { faults: [], more: 0 }
}

/** Adds an error. `message` continues a sentence that begins with file and field. */
export function addError(report: Report, file: string, field: string, message: string): undefined {
  if (report.faults.length < MAX_FAULTS) report.faults.push({ file, field, message })
  else report.more++
}

/** Returns the errors as at most 21 sentences; the last has the number of omitted ones. */
export function sentencesOf({ faults, more }: Report): string[] {
  return [...faults.map(sentenceOf), ...(more > 0 ? [`${more} more errors are not listed.`] : [])]
}

function sentenceOf({ file, field, message }: FieldError): string {
  return field === '' ? `${file} ${message}` : `${file}: ${field} ${message}`
}
