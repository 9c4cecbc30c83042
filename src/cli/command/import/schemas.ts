/** Schemas of responses that an import reads. A server may add fields and omit optional ones. docs/moving-in.md: Requests and retries. */
import { type TSchema, Type } from 'typebox'
import { validate } from '../../../platform/http/validate.ts'

// biome-ignore lint/suspicious/noExplicitAny: a response of any server; readers check each field
export type ServerItem = Record<string, any>

const Texts = Type.Array(Type.String())
const ANY = Type.Object({})
/** A project, alone and in a list. */
export const PROJECT = Type.Object({ name: Type.String() })

/** TABLE Schemas of list items. */
const ITEMS: Readonly<Record<string, TSchema>> = {
  projects: PROJECT,
  envs: Type.Object({
    key: Type.String(),
    type: Type.String(),
    target: Type.Optional(Type.Union([Type.String(), Texts])),
  }),
  environments: Type.Object({ slug: Type.String() }),
  domains: Type.Object({ name: Type.String() }),
  webhooks: Type.Object({ url: Type.String(), events: Type.Optional(Texts) }),
  drains: Type.Object({ name: Type.String(), delivery: Type.Object({ endpoint: Type.String() }) }),
  data: Type.Object({ key: Type.String() }),
}

/** Returns the response if it is an object of this shape. Throws Error, with the actual response of `address`. */
export function mustBeObject(address: string, answer: unknown, schema: TSchema = ANY): ServerItem {
  try {
    return validate(schema, answer) as ServerItem
  } catch (error) {
    const reason = kindOf(answer) === 'an object' ? `: ${(error as Error).message}` : ''
    throw new Error(`${address} answered ${kindOf(answer)} that is not what this API answers there${reason}`)
  }
}

/** Returns the items of a page, which is a list or has one of this name, without null items. Throws Error as `mustBeObject`. */
export function itemsOf(address: string, name: string, page: unknown): ServerItem[] {
  const items = Array.isArray(page) ? page : mustBeObject(address, page)[name]
  if (!Array.isArray(items)) throw new Error(`${address} answered no list of ${name}, but ${kindOf(items)}`)
  const schema = ITEMS[name]
  return items
    .filter((item) => item !== null)
    .map((item) => mustBeObject(`${address} (in its list of ${name})`, item, schema))
}

function kindOf(answer: unknown): string {
  if (answer === undefined) return 'nothing'
  if (answer === null) return 'null'
  if (Array.isArray(answer)) return 'an array'
  return typeof answer === 'object' ? 'an object' : `a ${typeof answer}`
}
