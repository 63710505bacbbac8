import type { Delivery } from './operations/deliveries.ts'

/** The name of a delivery in the list of a site, which sorts as the list does. */
export function toDeliveryName({ createdAtMs, seq, deliveryId }: Delivery): string {
  return `${createdAtMs} ${seq} ${deliveryId}`
}
