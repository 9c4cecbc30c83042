/** Sets an entry as the newest of a map. Drops the oldest where it has more than `max`. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= max) return
  const [oldest] = map.keys()
  map.delete(oldest!)
}
