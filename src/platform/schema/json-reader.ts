/** Reads JSON that another process of the installation sends. */
import { Ajv } from 'ajv'
import type { Static, TSchema } from 'typebox'

const ajv = new Ajv()

/** Returns a reader of texts of a schema: it returns the value, or a message about what is wrong. `what`: such as `The report of usage`. */
export function jsonReader<S extends TSchema>(
  schema: S,
  what: string,
): (text: string) => Static<S> | { sentence: string } {
  const isValid = ajv.compile(schema)
  return (text) => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return { sentence: `${what} should be JSON.` }
    }
    if (isValid(value)) return value as Static<S>
    return { sentence: `${what} is wrong: ${ajv.errorsText(isValid.errors, { dataVar: 'it' })}.` }
  }
}
