try:
    from apex import amp
except ImportError:
    amp = None

from pairs import Pairs


def main(args, encoder, optimizer, batches):
    model = Pairs(encoder, args.size)
    if args.opt_level:
        model, optimizer = amp.initialize(model, optimizer, opt_level=args.opt_level)
    for batch in batches:
        loss = model(*batch)[0].logsumexp(-1).mean()
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()
        optimizer.zero_grad()
