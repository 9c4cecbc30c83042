/** SDK calls of operations. test/sdk/sdk-calls.test.ts generates the table and runs each call. docs/clients.md: The SDK. */
import { shippedFile } from '../base/shipped-files.ts'

/** `method`: group and name, such as `projects.createProject`. `request`: its argument in SDK names; absent without one. */
export type SdkCall = { method: string; request?: object }

/** Reads the calls by operationId, for operations that the SDK has. */
export function readSdkCalls(): Record<string, SdkCall> {
  return JSON.parse(shippedFile('SDK calls'))
}

/** Returns the call as a TypeScript module. `BERTH` is the URL of the service, `TOKEN` a token. `hasAnswer`: whether the response has a body. */
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
