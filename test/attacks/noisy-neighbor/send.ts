/** One request as an attacker sends it: from whichever address of this machine, with whatever body. */
import { type Agent, request } from 'node:http'

type Sent = {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
  agent?: Agent
  /** The address that it comes from: Linux has all of 127.0.0.0/8. */
  from?: string
}

/** Resolves with the answer once it is whole. */
export function send(address: string, { method, path, headers, body, agent, from }: Sent) {
  return new Promise<{ status: number; cookies: string[]; text: string }>((resolve, reject) => {
    const options = { method, headers, agent, ...(from !== undefined && { localAddress: from }) }
    const asked = request(address + path, options, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      answer.on('end', () => resolve({ status: answer.statusCode!, cookies: answer.headers['set-cookie'] ?? [], text }))
    })
    asked.on('error', reject)
    asked.end(body)
  })
}
