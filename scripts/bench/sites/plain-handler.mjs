/** Of a function of the bench. */
export default function handler(_request, response) {
  response.setHeader('content-type', 'application/json')
  response.end('{"hello":"world"}')
}
