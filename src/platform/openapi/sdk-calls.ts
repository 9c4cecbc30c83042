/** How the newest SDK asks an operation. test/sdk/sdk-calls.test.ts makes the table, and runs the text of each call. docs/clients.md: The SDK. */
import { shippedFile } from '../base/shipped-files.ts'

/** `method`: group and name, such as `projects.createProject`. `request`: what it is called with, in the names of the SDK; absent where it takes nothing. */
export type SdkCall = { method: string; request?: object }

/** Reads the calls, by operationId: those of the operations that the SDK has too, and whose example it can say. */
export function readSdkCalls(): Record<string, SdkCall> {
  return JSON.parse(shippedFile('SDK calls'))
}

/** Gives the call as a module of TypeScript. `BERTH` is the address of the service, `TOKEN` who asks; `hasAnswer`: whether it is answered with something. */
export function sdkText({ method, request }: SdkCall, hasAnswer: boolean): string {
  return `import { env } from 'node:process'
import { Vercel } from '@vercel/sdk'

const berth = new Vercel({
  serverURL: env.BERTH,
  bearerToken: env.TOKEN,
})

${hasAnswer ? 'const answer = ' : ''}await berth.${method}(${request === undefined ? '' : literal(request)})
`
}

/** A value as it is written in TypeScript. */
function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const inner = `${indent}  `
  const lines = Array.isArray(value)
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).map(([name, item]) => `${property(name)}: ${literal(item, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (lines.length === 0) return `${open}${close}`
  return `${open}\n${lines.map((line) => `${inner}${line},\n`).join('')}${indent}${close}`
}

function property(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

function quoted(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escaped}'`
}
