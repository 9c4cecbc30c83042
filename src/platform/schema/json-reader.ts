/** Reads JSON that another process of the installation sends. */
import { Ajv } from 'ajv'
import type { Static, TSchema } from 'typebox'
import { parseWeighed } from './json-weight.ts'

const ajv = new Ajv()

/** Returns a reader of texts of a schema: it returns the value, or a message about what is wrong. `what`: such as `The report of usage`. */
export function jsonReader<S extends TSchema>(
  schema: S,
  what: string,
): (text: string) => Static<S> | { sentence: string } {
  const isValid = ajv.compile(schema)
  return (text) => {
    const read = parseWeighed(text)
    if ('sentence' in read) return { sentence: `${what} ${read.sentence}.` }
    if (isValid(read.value)) return read.value as Static<S>
    return { sentence: `${what} is wrong: ${ajv.errorsText(isValid.errors, { dataVar: 'it' })}.` }
  }
}
