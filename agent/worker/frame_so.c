/* frame_so.c: the empty operation, in a shared object of its own: what a call through the worker's
 * loop costs by itself. Built as fleetmark-frame.so beside the worker; never linked to it. */

__attribute__((visibility("default"))) int fm_frame(int digest_len_bits, const unsigned char *msg,
        unsigned long long msg_len_bits, unsigned char *digest);

int fm_frame(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	(void)digest_len_bits;
	(void)msg;
	(void)msg_len_bits;
	(void)digest;
	return 0;
}
