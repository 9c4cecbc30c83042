/** The handler of the bench in plain Node.js. */
import { createServer } from 'node:http'
import handler from './plain-handler.mjs'

const server = createServer(handler)
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`))
